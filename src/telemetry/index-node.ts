/*
 * Telemetry on Node: files of records, scores and reports of them, and spans of OpenTelemetry. See `docs/telemetry.md`.
 *
 * Until version 1.1 this entry may change in a minor version.
 *
 * @module
 */

export type { SpanAttributes, SpanLike, TracingApi, TracingContext } from '../base/tracing.ts'
export { collect, flushOnExit } from './collect-node.ts'
export { type FileSink, fileSink } from './file-sink-node.ts'
export type { MonitorResult } from './monitor-node.ts'
export type {
  CollectOptions,
  FileSinkOptions,
  ReportOptions,
  ScoreOptions,
  TracingOptions,
} from './options.ts'
export { report } from './report-node.ts'
export { type Progress, score } from './score-node.ts'
export { openTelemetryTracing, type Tracing } from './tracing-node.ts'
