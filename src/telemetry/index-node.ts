export { flushOnExit } from './exit-node.ts'
export { type FileSinkOptions, fileSink } from './file-sink-node.ts'
export { collect, report, score } from './monitor-node.ts'
export type {
  CollectOptions,
  MonitorResult,
  Progress,
  ReportOptions,
  ScoreOptions,
} from './monitor-options.ts'
