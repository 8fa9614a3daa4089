"""One module a question. Each has measure(settings), which yields table rows."""
