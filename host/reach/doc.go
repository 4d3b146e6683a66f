// Package reach is about hosts by name: what a template lists, what a session asks for, and whether the one covers the
// other (N01). It looks nothing up and dials nothing. Settings check patterns with it, the proxy matches requests.
package reach
