// Package credential takes a token from its file to the pipe that the shim inherits, and to nowhere else.
//
// Read in this order: path.go turns the setting into a path, file.go reads a file that only the caller and
// root decide about, token.go says what a token looks like, secret.go holds it in a type that cannot print
// itself, pipe.go puts it into a pipe. No error and no warning ever carries a byte of content.
package credential
