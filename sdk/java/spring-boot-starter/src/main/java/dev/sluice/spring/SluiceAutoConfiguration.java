package dev.sluice.spring;

import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceOptions;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** The client, and the check of {@link RateLimited} methods. */
@AutoConfiguration(after = AopAutoConfiguration.class)
@ConditionalOnProperty(prefix = "sluice", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(SluiceProperties.class)
public class SluiceAutoConfiguration {
  @Bean(destroyMethod = "close")
  @ConditionalOnMissingBean
  Sluice sluice(SluiceProperties properties) {
    SluiceOptions options = SluiceOptions.create().maxConnections(properties.maxConnections());
    String url = option(properties.url(), "SLUICE_URL");
    if (url != null) {
      options.url(url);
    }
    String socket = option(properties.socket(), "SLUICE_SOCKET");
    if (socket != null) {
      options.socket(socket);
    }
    String apiKey = option(properties.apiKey(), "SLUICE_API_KEY");
    if (apiKey != null) {
      options.apiKey(apiKey);
    }
    String apiKeyFile = option(properties.apiKeyFile(), "SLUICE_API_KEY_FILE");
    if (apiKeyFile != null) {
      options.apiKeyFile(Path.of(apiKeyFile));
    }
    String timeout = option(properties.timeout(), "SLUICE_TIMEOUT");
    if (timeout != null) {
      options.timeout(DurationStyle.detectAndParse(timeout, ChronoUnit.MILLIS));
    }
    if (properties.onError() != null) {
      options.onError(properties.onError());
    }
    if (properties.caFile() != null) {
      options.caFile(properties.caFile());
    }
    if (properties.clientCertificate() != null || properties.clientKey() != null) {
      options.clientCertificate(properties.clientCertificate(), properties.clientKey());
    }
    return SluiceClient.create(options);
  }

  /**
   * Spring reads the variable SLUICE_URL as the property sluice.url. Such a value is left to the client, which has rules
   * for several variables at once.
   */
  private static String option(String property, String variable) {
    return property == null || property.isEmpty() || property.equals(System.getenv(variable)) ? null : property;
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static Advisor sluiceMethodAdvisor(ObjectProvider<Sluice> sluice, ObjectProvider<SluiceProperties> properties, BeanFactory beans,
      Environment environment) {
    String application = environment.getProperty("spring.application.name", "application");
    return new DefaultPointcutAdvisor(new RateLimitedMethods(), new MethodLimiter(sluice, properties, new Expressions(beans), application));
  }
}
