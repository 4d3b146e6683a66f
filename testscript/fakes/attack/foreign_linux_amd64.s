#include "textflag.h"

// func int80(number int32) int32
//
// The system call gate of 32-bit programs, which a 64-bit one can use too.
TEXT ·int80(SB), NOSPLIT, $0-12
	MOVL number+0(FP), AX
	INT  $0x80
	MOVL AX, ret+8(FP)
	RET
