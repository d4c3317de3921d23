% Reads the results of a run of any physics in MATLAB (R2019a or later) or GNU Octave:
%   results = read_results('weld.out')
%   read_results('weld.out')            plots the traces
% The struct has summary, and what the folder holds:
%   traces        runs over time: time (n x 1), names (1 x m), values (n x m), one element a sampling
%   energy        runs over time: the columns of energy.csv
%   hist, field   explicit dynamics with --pogo-files, as loadHist and loadField give them
%   arrival       arrival times, s, a row a node; activation: the columns of activation.csv
%   nodes, displacement   voxel statics: rows of places in the grid, and of displacements, m
% Fields in fields.vtkhdf are read by h5read in MATLAB. traces.mat (--mat) holds the traces, too: load('weld.out/traces.mat').
function results = read_results(folder)
    if nargin < 1
        folder = 'weld.out';
    end
    results.summary = jsondecode(fileread(fullfile(folder, 'summary.json')));
    fprintf('%s: %s by %s\n', folder, results.summary.physics, results.summary.version);
    tables = dir(fullfile(folder, 'traces*.csv'));
    for k = 1:numel(tables)
        results.traces(k) = read_table(fullfile(folder, tables(k).name));
    end
    for name = {'energy', 'activation'}
        path = fullfile(folder, [name{1}, '.csv']);
        if exist(path, 'file')
            results.(name{1}) = read_table(path);
        end
    end
    for name = {'arrival', 'nodes', 'displacement'}
        path = fullfile(folder, [name{1}, '.npy']);
        if exist(path, 'file')
            results.(name{1}) = read_npy(path);
        end
    end
    pogo = dir(fullfile(folder, '*.pogo-*'));
    for k = 1:numel(pogo)
        path = fullfile(folder, pogo(k).name);
        if strcmp(path(end - 4:end), '-hist')
            results.hist = loadHist(path);
        else
            results.field = loadField(path);
        end
    end
    if nargout == 0 && isfield(results, 'traces')
        plot_traces(results.traces(1));
    end
end

function plot_traces(traces)
    plot(1e6 * traces.time, 1e9 * traces.values);
    xlabel('Time / \mus');
    ylabel('Displacement / nm');
    legend(traces.names, 'Interpreter', 'none');
end

% A table -> time (its first column), names (1 x m) and values (n x m) of the others. Lines that start with # carry units
% and provenance. Columns of words are NaN.
function table = read_table(path)
    file = fopen(path);
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    line = fgetl(file);
    while ischar(line) && ~isempty(line) && line(1) == '#'
        line = fgetl(file);
    end
    names = strsplit(line, ',');
    columns = textscan(file, repmat('%s', 1, numel(names)), 'Delimiter', ',');
    values = zeros(numel(columns{1}), numel(names));
    for k = 1:numel(names)
        values(:, k) = str2double(columns{k});
    end
    table.time = values(:, 1);
    table.names = names(2:end);
    table.values = values(:, 2:end);
end

% An array of NumPy: 64-bit or 32-bit floats or 32-bit integers, in C order; of two dimensions at most.
function values = read_npy(path)
    file = fopen(path, 'r', 'ieee-le');
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    start = fread(file, 8, 'uint8')';
    header = fread(file, [1, fread(file, 1, 'uint16')], '*char');
    kind = regexp(header, '''descr'': ''<(\w\d)''', 'tokens', 'once');
    shape = regexp(header, '''shape'': \(([^)]*)\)', 'tokens', 'once');
    kinds = struct('f8', 'float64', 'f4', 'float32', 'i4', 'int32');
    if start(7) ~= 1 || isempty(kind) || ~isfield(kinds, kind{1})
        error('%s is no array that is known here', path);
    end
    shape = [sscanf(shape{1}, '%d,')', 1];
    values = reshape(double(fread(file, prod(shape), kinds.(kind{1}))), fliplr(shape(1:2)))';
end
