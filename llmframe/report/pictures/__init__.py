"""Pictures of a report card, drawn by matplotlib without pyplot."""
