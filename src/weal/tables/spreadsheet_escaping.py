r"""Text in files for spreadsheets: written so that nothing in it runs, and read back as it was.

    =1+1        '=1+1       a cell that begins with = + - @ or a tab could be run as a formula: it
                            gets a ' before it, and so does one that begins with ' and these
    bell BEL    bell \u{7}  a control character (line breaks and tabs apart), or half a character
                            that an old store may hold, is spelt; so is a \ that stands before u{

`unescape` undoes both, and changes no other text. Standard library only: `weal tell` reads files.
"""

import re

_RISKY = re.compile(
    "'*[=+\\-@\t\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]|\\\\(?=u\\{)"
)
_SPELT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def escape(text: str) -> str:
    r"""The text as it is written into a CSV file.

    >>> escape("-2"), escape("'=x"), escape("a-2"), escape("a\rb")
    ("'-2", "''=x", 'a-2', 'a\\u{d}b')
    """
    plain = escape_control_characters(text)
    return f"'{plain}" if _RISKY.match(plain) else plain


def unescape(text: str) -> str:
    r"""The text that was written so.

    >>> unescape("'-2"), unescape("'tis"), unescape("-2"), unescape(r"C:\new")
    ('-2', "'tis", '-2', 'C:\\new')
    """
    plain = text[1:] if text[:1] == "'" and _RISKY.match(text) else text
    return unspelt(plain)


def escape_control_characters(text: str) -> str:
    """The text with control characters spelt out."""
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def unspelt(text: str) -> str:
    """The text that was spelt so."""
    return _SPELT.sub(_letter, text) if "\\u{" in text else text


def _letter(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    whole = code < 0xD800 or 0xDFFF < code <= 0x10FFFF  # half a character stays spelt
    return chr(code) if whole else found[0]
