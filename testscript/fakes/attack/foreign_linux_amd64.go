package main

func int80(number int32) int32

// foreignI386 asks for the process number as an i386 program does: number 20 there.
func foreignI386() error { return reached(int80(20)) }
