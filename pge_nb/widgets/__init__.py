"""What is live on the page while a kernel is at work: the panel of a run, and the view in which a person labels.

No widget is the only record of anything: when it ends, something that stands by itself takes its place in the notebook.
ipywidgets is imported where the first of them is opened.
"""
