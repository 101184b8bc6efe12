"""Webhooks as a real API server calls them: admission and conversion. Clients of them, no servers.

configurations.py      which webhooks there are, from the configurations in the store
matching.py            which of them a request concerns, `matchConditions` in CEL included
reviews.py             the review that is sent, the answer that comes back
webhook_client.py      HTTPS
failures.py            why there is no answer, in the words of a real API server
mutations.py           patches of mutating webhooks
admission.py           the gate: mutating webhooks one after the other, validating ones at once
conversion.py          objects in other versions of their definition
conversion_replies.py  what a conversion webhook answers
gates.py               one request's gate
"""
