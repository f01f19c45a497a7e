"""Studies of rulesets: what is asked, and all that was found."""
