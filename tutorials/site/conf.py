"""Sphinx's configuration. `build_site.py` calls Sphinx with it; nothing else needs to."""

project = "Sectile"
author = "The Sectile developers"
copyright = "The Sectile developers"

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "text"  # of blocks that name no language

html_theme = "furo"
html_title = "Sectile"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
