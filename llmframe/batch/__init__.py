"""The provider's Batch API: another way to fill the store, whose steps are written down before they are made."""
