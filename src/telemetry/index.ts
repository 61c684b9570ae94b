export { Analysis, type AnalysisOptions, type Skipped } from './analysis.ts'
export { type Collector, type CollectorOptions, createCollector } from './collector.ts'
export type { ListenOptions } from './ear.ts'
export { type HttpSinkOptions, httpSink, type RecordBuffer } from './http-sink.ts'
export { incidentMarkdown } from './incident-markdown.ts'
export type { Incident } from './incidents.ts'
export { type Firing, type JudgeOptions, judge, type Verdict } from './judge.ts'
export type { Quantiles, WindowMetrics } from './metrics.ts'
export { type PostOptions, pagerDutyEvent, postJson, slackMessage } from './notify.ts'
export { type MeterLike, openTelemetrySink } from './open-telemetry.ts'
export { type OpfsBufferOptions, opfsBuffer } from './opfs-buffer-browser.ts'
export type { Sink } from './outbox.ts'
export { type Received, receiveTelemetry } from './receive.ts'
export { RECORD_VERSION, type RecordFields, type StreamName, type TelemetryRecord } from './record.ts'
export { renderReport } from './report-html.ts'
export type { WarningKind } from './signals.ts'
export {
  DEFAULT_THRESHOLDS,
  makeThresholds,
  type RuleName,
  type Severity,
  type Threshold,
  type Thresholds,
} from './thresholds.ts'
export { isRecord, recordSchema } from './validate.ts'
