// Package format lays out the tables that the reading commands print: it reads
// column formats ("%.18i %.9P", "jobid:10,name") and writes cells that are cut
// and padded as Slurm does.
//
// It knows no column: what a letter or a name means is the command's affair. A
// format is read once; writing a row then calls one function a column and
// allocates nothing.
package format
