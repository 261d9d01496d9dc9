"""What pages show of the databases under results/measured/.

store.py reads a database by the program's reports, cells.py writes numbers and tables in Markdown,
and each other module makes tables. results/measured/pages.toml says which table of which database
stands in which page; scripts/make-results writes them there.
"""
