package dev.sluice.spring;

import dev.sluice.client.Sluice;
import dev.sluice.micrometer.MeteredSluice;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Counts and times checks if sluice-micrometer is there and the application has a registry. */
@AutoConfiguration
@ConditionalOnClass({MeteredSluice.class, MeterRegistry.class})
public class SluiceMetricsAutoConfiguration {
  @Bean
  static BeanPostProcessor sluiceMeter(ObjectProvider<MeterRegistry> registry) {
    return new BeanPostProcessor() {
      @Override
      public Object postProcessAfterInitialization(Object bean, String name) {
        if (!(bean instanceof Sluice sluice) || bean instanceof MeteredSluice) {
          return bean;
        }
        MeterRegistry found = registry.getIfAvailable();
        return found == null ? bean : new MeteredSluice(sluice, found);
      }
    };
  }
}
