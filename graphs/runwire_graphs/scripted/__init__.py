"""The keyless model: no network and no key, a few rules over messages and tools' schemas. It says what it is."""
