// Package lint keeps the rules of the house as tests: who may import whom, what
// pure packages must not use, what the commands link, and what a source file
// looks like.
//
// It must hold no exception without a word why.
package lint
