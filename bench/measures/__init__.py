"""One module for each question. Each has measure(settings), which yields table rows."""
