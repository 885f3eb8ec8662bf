"""A small web site, served beside the bundle: something to browse for a newcomer without the internet."""
