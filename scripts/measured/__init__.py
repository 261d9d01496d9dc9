"""What pages show of the databases under results/measured/.

store.py reads a database by the program's reports, cells.py writes numbers and tables in Markdown.
listing.py writes docs/results/: printed.py reads a report as it is printed, plain_results.py makes
it narrow and plain, uses.py finds the pages that use it. Each other module makes tables.
results/measured/pages.toml says which table of which database stands in which page;
scripts/make-results writes them there.
"""
