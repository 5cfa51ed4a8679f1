"""Files, folders, locks and git revisions, as texts. What a text means is not known here."""
