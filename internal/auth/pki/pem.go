package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	blockKey         = "PRIVATE KEY"
	blockCertificate = "CERTIFICATE"
	blockRequest     = "CERTIFICATE REQUEST"
)

func encodeBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// encodePair writes a private key and its certificate as one PEM text.
func encodePair(key ed25519.PrivateKey, certificate []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(encodeBlock(blockKey, der), encodeBlock(blockCertificate, certificate)...), nil
}

// decodePair reads what encodePair wrote, and checks that the two belong
// together.
func decodePair(text []byte) (ed25519.PrivateKey, *x509.Certificate, error) {
	var key ed25519.PrivateKey
	var certificate *x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case blockKey:
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
			var ok bool
			if key, ok = parsed.(ed25519.PrivateKey); !ok {
				return nil, nil, fmt.Errorf("the key is a %T, not Ed25519", parsed)
			}
		case blockCertificate:
			var err error
			if certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
				return nil, nil, err
			}
		}
	}
	if key == nil || certificate == nil {
		return nil, nil, errors.New("a private key and a certificate are needed, and one is missing")
	}
	public, ok := certificate.PublicKey.(ed25519.PublicKey)
	if !ok || !public.Equal(key.Public()) {
		return nil, nil, errors.New("the certificate is not that of the key")
	}
	return key, certificate, nil
}

// decodeCertificates reads all certificates of a PEM text.
func decodeCertificates(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != blockCertificate {
			return nil, fmt.Errorf("a %s does not belong here", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		list = append(list, certificate)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return list, nil
}
