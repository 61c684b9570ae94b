/*
 * Events become lines, lines become figures, figures become incidents.
 *
 *     events ─▶ collector ─▶ lines ─▶ windows ─▶ health ─▶ report, incident, Slack, PagerDuty
 *                         └▶ OpenTelemetry
 *
 * Every line contains everything that an analysis needs of its event: the collector, which sees the events in order,
 * writes the wait, the attempts and the remaining TTL into the line that ends them. So lines can be counted in any
 * order and in parts, and the analyzer keeps no leases in memory. From lines to health everything is pure
 * (`analysis.ts`, `health.ts`). The state of an incident is computed from all lines in each run. Incidents of the
 * log are found by overlapping times, and keep their id. Files are used in `*-node.ts`, the origin's private files
 * in `*-browser.ts`. Names become pseudonyms with SHA-256 of `@noble/hashes`, which is synchronous: records must be
 * complete when a process exits.
 */

export { pagerDutyEvent, postJson, slackMessage } from './alerts.ts'
export { Analysis, type Skipped } from './analysis.ts'
export { type Collector, createCollector, type OnDropped, type Sink } from './collector.ts'
export { checkHealth, type FiringRule, type Incident, type LockHealth } from './health.ts'
export { httpSink, type Received, type RecordBuffer, receiveTelemetry } from './http-batches.ts'
export { incidentMarkdown } from './incident-page.ts'
export type { Quantiles, WarningKind, WindowMetrics } from './metrics.ts'
export { type MeterLike, openTelemetrySink } from './open-telemetry.ts'
export { opfsBuffer } from './opfs-buffer-browser.ts'
export type {
  AnalysisOptions,
  CollectorOptions,
  HealthOptions,
  HttpSinkOptions,
  ListenOptions,
  OpfsBufferOptions,
  PostOptions,
} from './options.ts'
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
