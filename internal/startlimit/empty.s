// Lets the compiler accept a function without a body.
