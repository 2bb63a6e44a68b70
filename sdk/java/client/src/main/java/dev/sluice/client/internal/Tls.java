package dev.sluice.client.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** TLS from PEM files. */
public final class Tls {
  private Tls() {}

  /**
   * A context.
   *
   * @param ca authorities to trust; null for the system's
   * @param certificate of the client, with its chain; null for none
   * @param key of that certificate, as PKCS #8
   * @throws IllegalArgumentException if a file cannot be read or used
   */
  public static SSLContext context(Path ca, Path certificate, Path key) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      KeyManagerFactory keys = null;
      if (certificate != null) {
        KeyStore store = emptyStore();
        Certificate[] chain = certificates(certificate).toArray(Certificate[]::new);
        store.setKeyEntry("client", privateKey(key, chain[0].getPublicKey().getAlgorithm()), new char[0], chain);
        keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
      }
      TrustManagerFactory trust = null;
      if (ca != null) {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate authority : certificates(ca)) {
          store.setCertificateEntry("authority-" + number++, authority);
        }
        trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
      }
      context.init(keys == null ? null : keys.getKeyManagers(), trust == null ? null : trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException unusable) {
      throw new IllegalArgumentException("the certificate files cannot be used: " + unusable.getMessage());
    }
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static Collection<? extends Certificate> certificates(Path file) throws GeneralSecurityException, IOException {
    try (InputStream in = Files.newInputStream(file)) {
      Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (found.isEmpty()) {
        throw new IOException(file + " has no certificate");
      }
      return found;
    }
  }

  private static PrivateKey privateKey(Path file, String algorithm) throws GeneralSecurityException, IOException {
    String pem = Files.readString(file);
    int begin = pem.indexOf("-----BEGIN PRIVATE KEY-----");
    int end = pem.indexOf("-----END PRIVATE KEY-----");
    if (begin < 0 || end < begin) {
      throw new IOException(file + " has no PKCS #8 key (BEGIN PRIVATE KEY)");
    }
    byte[] content = Base64.getMimeDecoder().decode(pem.substring(begin + 27, end));
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(content));
  }
}
