"""The requests of a study, the terms that identify them in the ledger, and their cost."""
