"""Configuration of the site; contributing.md says how to build it."""

import os
import re
import shutil
import sys
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[1]
COPIES = Path(__file__).parent / "notebooks"

# The site documents this working tree, whatever is installed; kernels of notebooks inherit it.
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
# Kernels show figures inline unless the environment asks for something else.
os.environ.pop("MPLBACKEND", None)

from geomstats_ldp import __version__  # noqa: E402

project = "geomstats_ldp"
author = "geomstats_ldp contributors"
release = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas need no network: MathJax is copied into the site
    "numpydoc",
    "myst_nb",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
# Python files are pages where they are notebooks only.
exclude_patterns = [
    "_build",
    "_templates",
    "conf.py",
    "audit/*.py",
    "benchmarks/*.py",
    "collection/*.py",
    "pictures/*.py",
    "study/*.py",
]

# ---------------------------------------------------------------- references

nitpicky = True
# `Name` in a docstring is a reference that has to resolve. A lower-case word in backticks may be a
# parameter, which has no page.
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:.*", r"[a-z_0-9]+"),
    ("py:.*", r"(sklearn|numpy|geomstats|matplotlib|collections|abc)\..*"),
    ("py:.*", r"(B_x|x|inf)"),
]

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_use_plots = False

# ---------------------------------------------------------------- pages and notebooks

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
# Seconds a cell: the first one compiles, on machines that do something else too.
nb_execution_timeout = 600
nb_merge_streams = True

plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_rcparams = {"savefig.bbox": "tight"}
plot_apply_rcparams = True

# ---------------------------------------------------------------- look

html_theme = "pydata_sphinx_theme"
html_title = "geomstats_ldp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("quick_start", "contributing", "changelog")}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}

# ---------------------------------------------------------------- hooks

_INDEX = """
```{toctree}
:hidden:
:glob:

[0-9]*
```
"""


def copy_notebooks(app):
    """Put the notebooks next to the pages, with their links to pages set right."""
    shutil.rmtree(COPIES, ignore_errors=True)
    COPIES.mkdir()
    for path in sorted((ROOT / "notebooks").iterdir()):
        if path.suffix in (".py", ".md"):
            text = path.read_text(encoding="utf-8").replace("](../docs/", "](../")
            text += _INDEX if path.name == "README.md" else ""
            (COPIES / path.name).write_text(text, encoding="utf-8")


def adapt_page(app, docname, source):
    """Link to the copies of notebooks, and draw: matplotlib's directive needs reStructuredText."""
    text = re.sub(r"\]\((?:\.\./)+notebooks/", "](/notebooks/", source[0])
    source[0] = re.sub(
        r"```\{plot\}\n(.*?)```",
        lambda block: "```{eval-rst}\n.. plot::\n\n" + indent(block[1], "   ") + "```",
        text,
        flags=re.S,
    )


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out fields of tuples, which the class describes, and what scikit-learn adds."""
    is_field = type(obj).__name__ == "_tuplegetter"
    is_foreign = (getattr(obj, "__module__", None) or "").startswith("sklearn.")
    return True if is_field or is_foreign else None


def escape_stars(app, what, name, obj, options, lines):
    """In ``shape [*point_shape]`` no emphasis starts."""
    lines[:] = [re.sub(r"(?<=[\[ ])\*(?=\w+shape)", r"\\*", line) for line in lines]


def find_anywhere(app, env, node, contnode):
    """Find `Name` wherever it is documented, not in the module that mentions it only."""
    target = node.get("reftarget", "")
    if node.get("refdomain") == "py" and not re.fullmatch("[a-z_0-9]+", target):
        node["refspecific"] = True
        return env.get_domain("py").resolve_xref(
            env, node["refdoc"], app.builder, node["reftype"], target, node, contnode
        )


def setup(app):
    """Connect the hooks."""
    # It copies files after all pages are written, but does not declare that reading is safe.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", adapt_page)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("autodoc-process-docstring", escape_stars, priority=400)  # before numpydoc
    app.connect("missing-reference", find_anywhere)
