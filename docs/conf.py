"""How the site is built (`./scripts/docs`). Pages are MyST; their code runs in the build."""

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import weal  # noqa: E402
from weal.formats.archive import FORMAT_VERSION  # noqa: E402
from weal.store.statements import STORE_VERSION  # noqa: E402

project = "weal"
author = "The weal developers"
copyright = "The weal developers, BSD-3-Clause"
version = release = weal.__version__
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "accessible",
    "bibtex",
    "mathml",
    "page_keywords",
    "paper_items",
    "reference_pages",
    "rooms",
]
exclude_patterns = [
    "_build", "_ext", "_templates", "_ipython", "README.md", "learn/notebooks", "reference/api/_*",
]  # fmt: skip
page_keywords = tomllib.loads((HERE / "keywords.toml").read_text("utf-8"))
suppress_warnings = ["mystnb.unknown_mime_type"]
smartquotes = False  # --by stays two hyphens

# Pages: a fence ```{code-cell} runs, in a folder of its own for each page.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {
    "version": release,
    "format_version": FORMAT_VERSION,
    "store_version": STORE_VERSION,
}
nb_render_markdown_format = "myst"  # tables, too
# force: every page; cache: pages that changed; off: none, to look at text and layout alone
nb_execution_mode = os.environ.get("WEAL_DOCS_EXECUTION", "force")
nb_execution_cache_path = str(HERE / "_build" / "cache")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 900  # only what hangs meets it
nb_merge_streams = True
nb_render_text_lexer = "console"
os.environ["IPYTHONDIR"] = str(HERE / "_ipython")  # figures as SVG, and the magic %%console

# The reference: docstrings by numpydoc, a page for each public name (`_ext/reference_pages.py`).
autosummary_generate = False
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # in docstrings `ask` is code, and a link where there is such a name
autodoc_typehints = "none"  # numpydoc prints the types that docstrings give
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# No network while building, or reading: formulas are MathML, and nothing is fetched.
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "weal"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["weal.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
html_context = {
    "site_links": [  # at the foot of every page (_templates/site-links.html)
        ("learn/is-it-for-me", "Is it for me?"),
        ("howto/limits", "Limits"),
        ("guide/security", "Security"),
        ("releases/cite", "Cite"),
        ("releases/licence", "Licence"),
        ("releases/index", "Changelog"),
        ("reference/index", "API"),
    ]
}
html_theme_options = {
    "logo": {"text": "weal"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["site-links"],
    "footer_end": ["copyright"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
