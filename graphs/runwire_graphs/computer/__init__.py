"""The computers of `computer_use`: what can be done with a screen, whatever is behind it, and who asks for it."""
