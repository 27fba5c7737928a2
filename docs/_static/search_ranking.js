/*
 * Ranking of the search: keywords and titles before headings, headings before text.
 *
 * Sphinx's search shows the pages that contain every word of the query, and sorts them by the best
 * place of a single word. Here a page is ranked by the sum over the words of the query: the weight
 * of the best place of the word on the page, times how rare the word is. A page needs not all of
 * the words, but loses by each that it lacks. A word that no page has is replaced by words that it
 * begins, or that one or two typing errors make of it. A keyword whose words are all in the query
 * counts once more. `page_keywords.js` has the keywords (docs/keywords.toml).
 */
"use strict";

const WEIGHTS = { keyword: 10, title: 10, heading: 5, text: 1 };
const OBJECT = { exact: 60, partial: 4 }; // names of the package
const PHRASE = 12; // for each word of a keyword that the query contains as a whole
const QUERY = 25; // a keyword that is the query, or a title that is
const GUESS = 0.5; // a word that was not typed so
const KEPT = 0.1; // of the best score: weaker pages are not shown
const PRIOR = [[/^understand\/source\//, 0.2], [/^reference\/api\//, 0.6], [/^releases\/0\./, 0.5],
               [/^releases\/index$/, 0.5], [/^contribute\//, 0.6]];

const stemmer = new Stemmer();
/** Stems of a text; words without meaning are left out where others remain. */
const stems = (text) => {
  const words = splitQuery(text.toLowerCase()).filter((word) => word[0] !== "-");
  const telling = words.filter((word) => !stopwords.has(word) && !/^\d+$/.test(word));
  return (telling.length ? telling : words).map((word) => stemmer.stemWord(word));
};

/** Whether two words differ by at most `most` typing errors (a letter more, less, other, swapped). */
const close = (a, b, most) => {
  if (Math.abs(a.length - b.length) > most) return false;
  let before = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length] <= most;
};

/** For each word the weight of its best place on each page; the keywords and headings of pages. */
let places = null;
const read = (index) => {
  places = { words: new Map(), keywords: [], headings: [] };
  const put = (word, page, weight) => {
    if (!places.words.has(word)) places.words.set(word, new Map());
    const pages = places.words.get(word);
    pages.set(page, Math.max(weight, pages.get(page) || 0));
  };
  for (const [terms, weight] of [[index.terms, WEIGHTS.text], [index.titleterms, WEIGHTS.heading]])
    for (const [word, pages] of Object.entries(terms))
      for (const page of [pages].flat()) put(word, page, weight);
  index.docnames.forEach((name, page) => {
    stems(index.titles[page]).forEach((word) => put(word, page, WEIGHTS.title));
    places.keywords[page] = (pageKeywords[name] || []).map(stems);
    places.keywords[page].flat().forEach((word) => put(word, page, WEIGHTS.keyword));
    places.headings[page] = [];
  });
  for (const [title, found] of Object.entries(index.alltitles))
    for (const [page, id] of found)
      if (id && title !== index.titles[page]) places.headings[page].push([title, id, stems(title)]);
};

/** The words of the index that a word of the query stands for. */
const meant = (word) => {
  if (places.words.has(word)) return [[word], 1];
  if (word.length < 3) return [[], 0];
  const known = [...places.words.keys()];
  const errors = word.length < 5 ? [0] : word.length < 8 ? [1] : [1, 2];
  for (const most of errors) {
    const near = known.filter((one) => one.startsWith(word) || close(word, one, most));
    if (near.length) return [near, GUESS];
  }
  const shorter = (one) => one.length > 5 && word.startsWith(one) && one.length > 0.6 * word.length;
  return [known.filter((one) => one.includes(word) || shorter(one)), GUESS];
};

/** The pages that have a word, with the weight of its best place, and how rare the word is. */
const look_up = (word) => {
  const [words, factor] = meant(word);
  const pages = new Map();
  for (const one of words)
    for (const [page, weight] of places.words.get(one))
      pages.set(page, Math.max(factor * weight, pages.get(page) || 0));
  return [pages, Math.log(1 + Search._index.docnames.length / (pages.size || 1)), words];
};

/** Whether all words of a list are in a set. */
const within = (words, set) => words.length > 0 && words.every((word) => set.has(word));

/** How well keywords and title of a page agree with the whole query. */
const agreement = (page, query, words) => {
  const same = (one) => one.length === query.length && within(one, words);
  const inside = places.keywords[page].filter((one) => within(one, words));
  const longest = Math.max(0, ...inside.map((one) => new Set(one).size));
  const whole = inside.some(same) || same(stems(Search._index.titles[page]));
  return PHRASE * longest + (whole ? QUERY : 0);
};

/** The heading of a page that has more words of the query than its title, or none. */
const heading = (page, words) => {
  const count = (found) => new Set(found.filter((word) => words.has(word))).size;
  let best = null, most = count(stems(Search._index.titles[page]));
  for (const [title, id, found] of places.headings[page])
    if (count(found) > most) [best, most] = [[title, id], count(found)];
  return best;
};

/** The hits of a query among pages: one for each page. */
const page_hits = (query, excluded) => {
  const index = Search._index, found = query.map(look_up);
  const rarity = found.reduce((sum, [, rare]) => sum + rare, 0);
  const words = new Set([...query, ...found.flatMap(([, , near]) => near.slice(0, 20))]);
  return index.docnames.flatMap((name, page) => {
    if (excluded.some((word) => places.words.get(word)?.has(page))) return [];
    const here = found.filter(([pages]) => pages.has(page));
    if (!here.length) return [];
    const sum = here.reduce((all, [pages, rare]) => all + rare * pages.get(page), 0);
    const share = here.reduce((all, [, rare]) => all + rare, 0) / rarity;
    const prior = PRIOR.find(([pattern]) => pattern.test(name))?.[1] ?? 1;
    const score = prior * (sum * share ** 2 + agreement(page, query, words));
    const at = heading(page, words), title = index.titles[page];
    const [label, anchor] = at ? [`${title} > ${at[0]}`, `#${at[1]}`] : [title, ""];
    const kind = at ? SearchResultKind.title : SearchResultKind.text;
    return [[name, label, anchor, null, score, index.filenames[page], kind]];
  });
};

/** Sphinx's hits among the names of the package, with scores that fit those of pages. */
const object_hits = (terms) =>
  [...terms].flatMap((term) => Search.performObjectSearch(term, terms)).map((hit) => {
    const exact = terms.size === 1 && hit[1].toLowerCase().split(".").at(-1) === [...terms][0];
    return hit.with(4, exact ? OBJECT.exact : OBJECT.partial);
  });

// In the place of Sphinx's function; the list shows the last hit first.
Search._performSearch = (query, searchTerms, excludedTerms, highlightTerms, objectTerms) => {
  if (places === null) read(Search._index);
  _removeChildren(document.getElementById("search-progress"));
  const words = [...new Set(stems(query))];
  const hits = [...page_hits(words, [...excludedTerms]), ...object_hits(objectTerms)];
  hits.sort((a, b) => a[4] - b[4] || b[1].localeCompare(a[1]));
  const least = KEPT * (hits.at(-1)?.[4] ?? 0), seen = new Set();
  const once = hits.reverse().filter((hit) => {
    const key = hit[0] + hit[2];
    return hit[4] >= least && !seen.has(key) && seen.add(key);
  });
  return once.reverse();
};
