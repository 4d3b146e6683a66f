package settings

// xdgCache: go and pip keep to ~/Library/Caches whatever XDG_CACHE_HOME says.
const xdgCache = ""
