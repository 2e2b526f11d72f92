"""Sphinx's settings."""

project = "Rushlight"
html_title = "Rushlight"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns: list[str] = []

myst_heading_anchors = 4  # GitHub's anchors
myst_enable_extensions = ["colon_fence", "attrs_inline"]
# CHANGELOG's headings are GitHub's; a short name in a signature's annotation may fit several objects
suppress_warnings = ["myst.header", "ref.python"]
highlight_language = "text"
toc_object_entries = False  # a page of the reference has up to 600 names
nitpicky = False

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#a03d00",
        "color-brand-content": "#a03d00",
        "color-brand-visited": "#7a4a2b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#ffb066",
        "color-brand-content": "#ffb066",
        "color-brand-visited": "#d9a888",
    },
}
