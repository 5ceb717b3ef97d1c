"""Histories for people: as text for a terminal, as Markdown, as a page, as lines of JSON.

Every renderer yields pieces of text as it goes, so that a history of any size can be written out
while it is told.
"""
