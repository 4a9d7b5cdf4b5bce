"""Parts of a report card, each made of what one statistic found."""
