"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "simlab"
author = copyright = "The simlab developers"
release = metadata.version("simlab")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "myst_nb",
    "kernels",
    "mathml",
    "written",
    "asking",
    "links",
]
exclude_patterns = ["_build", "extensions", "conf.py", "engines/*.py"]
suppress_warnings = ["mystnb.unknown_mime_type", "ref.python"]  # names of types that several packages have

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
os.environ["SIMLAB_BEFOREHAND"] = "1"  # notebooks make the pictures that sliders of a page choose among
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "warn"  # an assertion of a notebook that no longer holds is reported there
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]  # pictures: no kernel lives
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # no scripts from elsewhere

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures of arrays say less than docstrings
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "code"
smartquotes_action = "qe"  # quotes and ellipses; two dashes begin an option

html_theme = "furo"
html_title = f"simlab {release}"
html_static_path = ["static", "../reports/templates/reach.js", "../reports/templates/search.js"]
html_css_files = ["simlab.css"]
html_js_files = ["accessible.js", "reach.js"]
html_show_sphinx = False
html_copy_source = False
