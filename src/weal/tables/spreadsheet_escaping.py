r"""Escape text for spreadsheets, so that no cell runs as a formula, and unescape it.

    =1+1        '=1+1       a ' goes before a cell that begins with = + - @ or a tab, which a
                            spreadsheet could run, and before one that begins with ' and these
    bell BEL    bell \u{7}  control characters (line breaks and tabs apart) and lone surrogates,
                            which an old store may hold, become escapes; so does a \ before u{

`unescape` reverses both and changes no other text. Standard library only: `weal tell` needs it.
"""

import re

_RISKY = re.compile(
    "'*[=+\\-@\t\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)
_CONTROL_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]|\\\\(?=u\\{)"
)
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def escape(text: str) -> str:
    r"""The text of a cell as a CSV file has it.

    >>> escape("-2"), escape("'=x"), escape("a-2"), escape("a\rb")
    ("'-2", "''=x", 'a-2', 'a\\u{d}b')
    """
    plain = escape_control_characters(text)
    return f"'{plain}" if _RISKY.match(plain) else plain


def unescape(text: str) -> str:
    r"""The text that `escape` was given.

    >>> unescape("'-2"), unescape("'tis"), unescape("-2"), unescape(r"C:\new")
    ('-2', "'tis", '-2', 'C:\\new')
    """
    plain = text[1:] if text[:1] == "'" and _RISKY.match(text) else text
    return unescape_control_characters(plain)


def escape_control_characters(text: str) -> str:
    """The text with control characters as escapes."""
    return _CONTROL_CHARACTER.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def unescape_control_characters(text: str) -> str:
    """The text with escapes as control characters."""
    return _ESCAPED.sub(_letter, text) if "\\u{" in text else text


def _letter(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    whole = code < 0xD800 or 0xDFFF < code <= 0x10FFFF  # a lone surrogate stays escaped
    return chr(code) if whole else found[0]
