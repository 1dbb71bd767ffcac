"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "isingsample"
author = "The isingsample authors"
copyright = f"2026, {author}"
version = release = installed_version("isingsample")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
exclude_patterns = ["_build", "jupyter_execute"]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_title = "isingsample"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 8,
}
html_sidebars = {"**": []}  # all pages are in the header; a second list would be empty
