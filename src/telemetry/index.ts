export { type PostOptions, pagerDutyEvent, postJson, slackMessage } from './alerts.ts'
export { Analysis, type AnalysisOptions, type Skipped } from './analysis.ts'
export {
  type Collector,
  type CollectorOptions,
  createCollector,
  type ListenOptions,
  type OnDropped,
  type Sink,
} from './collector.ts'
export {
  checkHealth,
  type FiringRule,
  type HealthOptions,
  type Incident,
  type LockHealth,
} from './health.ts'
export {
  type HttpSinkOptions,
  httpSink,
  type Received,
  type RecordBuffer,
  receiveTelemetry,
} from './http-batches.ts'
export { incidentMarkdown } from './incident-page.ts'
export type { Quantiles, WarningKind, WindowMetrics } from './metrics.ts'
export { type MeterLike, openTelemetrySink } from './open-telemetry.ts'
export { type OpfsBufferOptions, opfsBuffer } from './opfs-buffer-browser.ts'
export {
  isRecord,
  RECORD_VERSION,
  type RecordFields,
  recordSchema,
  type StreamName,
  type TelemetryRecord,
} from './record.ts'
export { renderReport } from './report-page.ts'
export {
  DEFAULT_THRESHOLDS,
  makeThresholds,
  type RuleName,
  type Severity,
  type Threshold,
  type ThresholdConfig,
  type Thresholds,
  type ThresholdsConfig,
} from './thresholds.ts'
