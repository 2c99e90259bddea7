"""The hidden inputs of the practice tasks, apart from them: a task can be shown to a class without its answers."""
