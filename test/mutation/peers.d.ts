/** What we use of Stryker, which is installed when it is needed. */
declare module '@stryker-mutator/core' {
  export interface MutantResult {
    readonly fileName: string
    readonly location: { readonly start: Position; readonly end: Position }
    readonly replacement: string
    readonly status:
      | 'Killed'
      | 'Survived'
      | 'NoCoverage'
      | 'Timeout'
      | 'CompileError'
      | 'RuntimeError'
      | 'Ignored'
  }

  /** Counted from one. */
  export interface Position {
    readonly line: number
    readonly column: number
  }

  export class Stryker {
    constructor(options: object)
    runMutationTest(): Promise<readonly MutantResult[]>
  }
}
