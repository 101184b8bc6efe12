"""What each verb does with the store; `api` is the face for controllers, `rules` what holds for every object."""
