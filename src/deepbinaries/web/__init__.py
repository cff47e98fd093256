"""The web: photographs and codes searched over HTTP, and one page for people."""
