package settings

// xdgCache is the variable from which go and pip derive their caches.
const xdgCache = "XDG_CACHE_HOME"
