.[] | .binding
