package option

import "muster/internal/model"

// mailType reads a comma list; several options add up, NONE takes all back.
func mailType(o *Options, e *Entry, value string) error {
	bits, ok := model.ParseMailType(value)
	switch {
	case !ok || value == "":
		return invalid(e)
	case bits == 0:
		o.Spec.MailType = 0
	}
	o.Spec.MailType |= bits
	return nil
}
