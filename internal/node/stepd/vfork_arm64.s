#include "textflag.h"

// func vforkSyscall(number, a1, a2 uintptr) (r1, errno uintptr)
//
// The return address stays in the link register, which parent and child each
// have for themselves.
TEXT ·vforkSyscall(SB),NOSPLIT|NOFRAME,$0-40
	MOVD number+0(FP), R8
	MOVD a1+8(FP), R0
	MOVD a2+16(FP), R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD ZR, R5
	SVC
	CMN  $4095, R0
	BCC  done
	NEG  R0, R0
	MOVD $-1, R4
	MOVD R4, r1+24(FP)
	MOVD R0, errno+32(FP)
	RET
done:
	MOVD R0, r1+24(FP)
	MOVD ZR, errno+32(FP)
	RET
