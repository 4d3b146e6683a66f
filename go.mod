module hostshim

go 1.26.0

// golang.org/x/sys/unix names the kernel calls that the standard library leaves out (Landlock, seccomp,
// close_range, waitid). Nothing else is needed, and every further module is one more party to trust.
require golang.org/x/sys v0.50.0
