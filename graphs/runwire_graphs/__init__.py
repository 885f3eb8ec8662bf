"""The served graphs of the runwire bundle; they know nothing of the client that watches them."""
